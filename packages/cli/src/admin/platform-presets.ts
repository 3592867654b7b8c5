import { claimAt } from '@pubring/server/features/access-rules/conditions'
import type { ClaimValue } from '@pubring/server/features/access-rules/contract'
import { type PlatformPreset, platformPresets } from '@pubring/server/features/access-rules/presets'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { fetchRemote } from '../connection/remote.ts'
import { usageError } from '../terminal/failures.ts'

type Conditions = Readonly<Record<string, ClaimValue>>

/** A preset and the name that it is for, such as `owner/repo`. */
interface ChosenPreset {
  preset: PlatformPreset
  subject: string
}

/**
 * The preset whose flag is set: `--github OWNER/REPO`. Throws unless that or, for workloads, `--issuer` is,
 * alone.
 */
export function choosePreset(flags: Readonly<Record<string, unknown>>): ChosenPreset | undefined {
  const chosen = platformPresets.filter(({ platform }) => flags[platform] !== undefined)
  const [preset] = chosen
  if (flags.for === 'people' && preset === undefined) return undefined
  if (chosen.length + (flags.issuer === undefined ? 0 : 1) !== 1) {
    const options = platformPresets.map(({ platform }) => `--${platform}`)
    throw usageError(`Name the issuer with one of ${options.join(', ')} or --issuer.`)
  }
  return preset && { preset, subject: String(flags[preset.platform]) }
}

/** The given conditions, those that the preset suggests, and the ids unless one of them is given. */
export async function presetConditions(
  { preset: { title, lookup, ids, suggested }, subject }: ChosenPreset,
  given: Conditions,
  timeoutMs: number,
): Promise<Conditions> {
  const merged = { ...suggested, ...given }
  if (Object.keys(ids).some((claim) => claim in given)) return merged
  const options = Object.entries(ids).map(([claim, id]) => `--condition ${claim}=… (${id.title})`)
  const hint = `Name one: ${options.join(' or ')}.`
  if (lookup === undefined) throw usageError(`${title} does not publish ids.`, hint)
  const path = subject.split('/').map(encodeURIComponent).join('/')
  const address = lookup.replace('{name}', encodeURIComponent(subject)).replace('{path}', path)
  const response = await fetchRemote(new URL(address), {
    what: `the ids of ${subject}`,
    headers: { accept: 'application/json' },
    timeoutMs,
    hints: [`The ids of what is private are not public. ${hint}`],
  })
  const document = parseJson(response.toString())
  const found = Object.entries(ids).map(([claim, { pointer = '' }]) => {
    const id = isObject(document) ? claimAt(document, pointer) : undefined
    if (id === undefined) throw usageError(`The ids of ${subject} were not found.`, hint)
    return [claim, String(id)]
  })
  return { ...Object.fromEntries(found), ...merged }
}
