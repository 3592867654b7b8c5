/** An agent cannot go on. `message` is for the user. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly kind: 'usage' | 'not_found' | 'unavailable' | 'error'

  constructor(kind: AgentError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}
