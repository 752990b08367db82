import HTTPTypes
import Hummingbird
import Operations

/// The tenant of the request or operation that a task works for.
enum Tenant {
    @TaskLocal static var current: String?
}

/// Takes the tenant from the header `X-Tenant` of a request.
struct TenantOfRequest<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await Tenant.$current.withValue(request.headers[HTTPField.Name("X-Tenant")!]) {
            try await next(request, context)
        }
    }
}

/// Carries the tenant from the request to the operation, in a header. Without a tenant nothing is enqueued.
struct Tenants: OperationMiddleware {
    func enqueue(
        _ request: EnqueueRequest,
        next: @escaping EnqueueRequest.Next
    ) async throws -> [EnqueuedOperation] {
        guard let tenant = Tenant.current else { throw HTTPError(.badRequest, message: "set the header X-Tenant") }
        var request = request
        for index in request.operations.indices { request.operations[index].headers["tenant"] = tenant }
        return try await next(request)
    }

    func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        try await Tenant.$current.withValue(context.headers["tenant"]) { try await next(context) }
    }
}
