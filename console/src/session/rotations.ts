const prefix = 'pubring.rotation.'

/** What the service cannot know of a rotation: which key replaces the old one, and what was said. */
export type Rotation = {
  newKid?: string
  /** When the signer went over to the new key; ISO 8601. */
  switchTime?: string
  /** Longest life of a token, in minutes. */
  tokenLife?: number
}

/** When the last token of the old key expires; undefined before the signer went over. */
export function lastTokenTime({ switchTime, tokenLife = 0 }: Rotation): string | undefined {
  if (switchTime === undefined) return undefined
  return new Date(Date.parse(switchTime) + tokenLife * 60_000).toISOString()
}

/** How far this tab has come in replacing the key `oldKid`. */
export function readRotation(oldKid: string): Rotation {
  const value: unknown = JSON.parse(sessionStorage.getItem(prefix + oldKid) ?? '{}')
  return typeof value === 'object' && value !== null ? value : {}
}

export function writeRotation(oldKid: string, rotation: Rotation): void {
  sessionStorage.setItem(prefix + oldKid, JSON.stringify(rotation))
}

/** For when the session ends. */
export function forgetRotations(): void {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(prefix)) sessionStorage.removeItem(name)
  }
}
