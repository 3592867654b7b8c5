const prefix = 'pubring.rotation.'

/** The progress of a rotation, as far as the service does not know it. Kept for the tab. */
export type Rotation = {
  newKid?: string
  /** When the signer switched to the new key, in ISO 8601. */
  switchTime?: string
  /** The maximum token lifetime in minutes. */
  tokenLife?: number
}

/** When the last token of the old key expires; undefined until the signer has switched. */
export function lastTokenExpiry({ switchTime, tokenLife = 0 }: Rotation): string | undefined {
  if (switchTime === undefined) return undefined
  return new Date(Date.parse(switchTime) + tokenLife * 60_000).toISOString()
}

/** The rotation that replaces the key `oldKid`; empty if there is none. */
export function readRotation(oldKid: string): Rotation {
  const value: unknown = JSON.parse(sessionStorage.getItem(prefix + oldKid) ?? '{}')
  return typeof value === 'object' && value !== null ? value : {}
}

export function writeRotation(oldKid: string, rotation: Rotation): void {
  sessionStorage.setItem(prefix + oldKid, JSON.stringify(rotation))
}

export function clearRotations(): void {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(prefix)) sessionStorage.removeItem(name)
  }
}
