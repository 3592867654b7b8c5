import { didYouMean } from '../../nearest.ts'
import { CommandError } from '../terminal/failures.ts'

/** How errors about one kind of item are worded. */
export interface ItemKind<Item> {
  plural: string
  /** What the API calls its id. */
  idName: string
  nameOf(item: Item): string
  /** One line for each of several items with the same name. */
  describe(item: Item): string
  /** Opens the sentence about a missing item: `There is no API key`. */
  missing: string
  code: string
  listHint: string
}

/** The item with the id, or the only one with the name. Throws if there is none, or several. */
export function pickOne<Item extends { id: string }>(
  items: readonly Item[],
  ref: string,
  { plural, idName, nameOf, describe, missing, code, listHint }: ItemKind<Item>,
): Item {
  const matches = items.filter((item) => item.id === ref.toLowerCase() || nameOf(item) === ref)
  const [first, ...others] = matches
  if (first === undefined) {
    const message = `${missing} “${ref}”${didYouMean(ref, items.map(nameOf))}`
    throw new CommandError('not_found', message, { code, hints: [listHint] })
  }
  if (others.length === 0) return first
  throw new CommandError(
    'usage',
    `${matches.length} ${plural} are called “${ref}”: pass the ${idName} of one.`,
    { code: 'ambiguous_name', hints: matches.map(describe) },
  )
}
