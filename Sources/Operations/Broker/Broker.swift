/// A queue server with all of its roles. `RedisBroker` is the real one, `InMemoryBroker` (BrokerModel) its model.
///
/// Every call is atomic: it happens as a whole or not at all. A call that throws `.outcomeUnknown` may have happened; all of
/// them except `claim` may then be repeated as they are. After such a claim, raise the epoch and reconcile.
///
/// Take the role that you need: `ProducerBroker`, `WorkerBroker`, `MonitorBroker` or `OperatorBroker`. The rules that Redis enforces for
/// its users (`RedisRole` of RedisBroker) have the same names.
package typealias Broker = ProducerBroker & WorkerBroker & OperatorBroker
