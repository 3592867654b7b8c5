/** What a step of a check finds: what is right, or what is wrong and what to do. */
export interface Finding {
  ok: boolean
  detail: string
}

export function passed(detail: string): Finding {
  return { ok: true, detail }
}

export function failed(detail: string): Finding {
  return { ok: false, detail }
}

/** Code points of foreign text that a sentence repeats. */
const maxQuoted = 40

/**
 * Foreign text as a sentence may hold it: short, and without characters that could disturb a
 * terminal or turn the direction of what follows (Unicode C, line and paragraph separators).
 */
export function quoted(text: string): string {
  const points = [...text]
  const shown = points.slice(0, maxQuoted).join('')
  const clean = shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
  return `“${clean}${points.length > maxQuoted ? '…' : ''}”`
}

/** A span of time as a person says it, in its largest whole unit. */
export function span(ms: number): string {
  const units: [string, number][] = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1_000],
  ]
  const [name, size] = units.find(([, length]) => ms >= length) ?? ['millisecond', 1]
  const count = Math.floor(ms / size)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
