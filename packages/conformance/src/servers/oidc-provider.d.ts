// What is used of it: the package brings no types.
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http"

  export interface Interaction {
    readonly prompt: {
      readonly name: string
      readonly details: {
        readonly missingOIDCScope?: ReadonlyArray<string>
        readonly missingOIDCClaims?: ReadonlyArray<string>
        readonly missingResourceScopes?: Readonly<Record<string, ReadonlyArray<string>>>
      }
    }
    readonly params: Readonly<Record<string, string | undefined>>
    readonly session?: { readonly accountId: string }
    readonly grantId?: string
  }

  interface Grant {
    addOIDCScope(scope: string): void
    addOIDCClaims(claims: ReadonlyArray<string>): void
    addResourceScope(resource: string, scope: string): void
    save(): Promise<string>
  }

  export interface Context {
    readonly oidc: {
      readonly client?: { readonly clientId: string }
      readonly params?: Readonly<Record<string, string | undefined>>
    }
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: {
      new(properties: { readonly accountId: string; readonly clientId: string | undefined }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    readonly Client: { find(id: string | undefined): Promise<{ readonly clientName?: string } | undefined> }
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: { readonly mergeWithLastSubmission: boolean }
    ): Promise<void>
    on(event: "grant.success" | "grant.error", listener: (context: Context, error?: Error) => void): void
  }

  export const errors: { readonly InvalidTarget: new() => Error }
}
