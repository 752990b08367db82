/// A queue server with all of its roles. `RedisBroker` is the real one; `InMemoryBroker` (BrokerModel) is its model.
///
/// Every call is atomic: it happens as a whole or not at all. A call that throws `.outcomeUnknown` may have happened.
/// All calls except `claim` may then be repeated unchanged. After such a claim, raise the epoch and reconcile.
///
/// Depend on the role that you need: `ProducerBroker`, `WorkerBroker`, `MonitorBroker` or `OperatorBroker`. The
/// permissions of Redis users (`RedisRole` of RedisBroker) have the same names.
package typealias Broker = ProducerBroker & WorkerBroker & OperatorBroker
