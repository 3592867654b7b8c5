import { didYouMean } from '@pubring/server/nearest'
import { CommandError } from '../terminal/failures.ts'

/** How errors about one kind of item are worded. */
interface ItemKind<Item> {
  /** The command line that lists them. */
  list: string
  /** For a person: `API key`. */
  noun: string
  /** The API's name for its id. */
  idName?: string
  nameOf(item: Item): string
  /** A text that tells it from others of its name, beside its id. */
  describe(item: Item): string
  /** Opens the sentence about a missing item. */
  missing?: string
}

/** Whether a text may be the end of an id, which is random; long enough not to be given by chance. */
export function isShortId(ref: string): boolean {
  return /^[0-9a-f-]{0,32}[0-9a-f]{4}$/i.test(ref)
}

const maxCandidates = 10

/**
 * The item with the id, the only one with the name, or the only one whose id ends like that. Throws
 * if there is none, or several.
 */
export function pickOne<Item extends { id: string }>(
  items: readonly Item[],
  ref: string,
  kind: ItemKind<Item>,
): Item {
  const { list, noun, idName = 'id', nameOf, describe } = kind
  const id = ref.toLowerCase()
  const named = items.filter((item) => item.id === id || nameOf(item) === ref)
  const isShort = named.length === 0 && isShortId(ref)
  const matches = isShort ? items.filter((item) => item.id.endsWith(id)) : named
  const [first, ...others] = matches
  if (first === undefined) {
    const { missing = `There is no ${noun}` } = kind
    const message = `${missing} “${ref}”${didYouMean(ref, items.map(nameOf))}`
    const code = `${noun.toLowerCase().replace(' ', '_')}_not_found`
    const hints = [`To see the ${noun}s: ${list}`]
    throw new CommandError('not_found', message, { code, hints })
  }
  if (others.length === 0) return first
  const message = isShort
    ? `The ids of ${matches.length} ${noun}s end with ${ref}: pass more of the ${idName}.`
    : `${matches.length} ${noun}s are called “${ref}”: pass the ${idName} of one.`
  const hints = matches.slice(0, maxCandidates).map((item) => `${item.id}  ${describe(item)}`)
  throw new CommandError('usage', message, { code: 'ambiguous_name', hints })
}
