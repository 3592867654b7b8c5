/** The follower cannot go on. `message` is for the user. */
export class FollowError extends Error {
  override readonly name = 'FollowError'
  readonly kind: 'usage' | 'not_found' | 'unavailable' | 'error'

  constructor(kind: FollowError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}
