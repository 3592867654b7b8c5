/** The part of `oidc-provider`, which has no types of its own, that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  export interface ProviderContext {
    oidc: {
      provider: { Grant: new (properties: { clientId: string; accountId: string }) => Grant }
      client: { clientId: string }
      session: { accountId: string }
    }
  }
  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ): Promise<void>
  }
}
