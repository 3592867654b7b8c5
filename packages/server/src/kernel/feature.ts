import { type CredentialKind, createReadCaller } from './access/callers.ts'
import type {
  AnyApply,
  AnyKind,
  Appliers,
  AppliersOf,
  Apply,
  ChangeKind,
  Kinds,
  OpenTransaction,
} from './changes.ts'
import { createHooks, type Subscription } from './hooks.ts'
import type { HttpSide } from './http/http-side.ts'
import type { People, ReadNotes } from './ledger/event-reads.ts'
import type { AnySubject } from './ledger/subject.ts'
import type { LedgerVerdict } from './ledger/verification.ts'
import type { Census } from './records.ts'
import type { Db, Table } from './storage/schema.ts'

/** Counts the registry at the time (ISO 8601). */
export type TakeCensus = (db: Db, time: string) => Promise<Census>

/** Compares tables; undefined if nothing differs. */
export type Verify = (db: Db) => Promise<LedgerVerdict | undefined>

/** The parts that a feature adds to the server. */
interface Parts {
  name: string
  tables?: readonly Table[]
  /** The kinds of its rows that ledgers account for. */
  subjects?: readonly AnySubject[]
  /** The types of its other events. Only tests read them: they check the list in `events/types.ts`. */
  eventTypes?: readonly string[]
  hooks?: readonly Subscription[]
  /** Names the people in events. */
  people?: People
  /** Names the registration links in events. */
  readNotes?: ReadNotes
  /** Loads the function that compares tables of which ledgers have no events of their own. */
  verify?(): Promise<Verify>
  /** Loads the function that counts the registry in the background. */
  census?(): Promise<{ takeCensus: TakeCensus }>
  /** The credential by which it identifies callers. */
  credential?: CredentialKind
  /** Loads its routes and metrics, for the process that serves. */
  http?(): Promise<HttpSide>
}

interface ChangeParts<All extends Kinds> {
  changes: All
  /** Loads the functions that apply the changes, for the thread or process that writes. */
  apply(): Promise<AppliersOf<All>>
}

type Definition<All extends Kinds> = Parts &
  (ChangeParts<All> | { [Name in keyof ChangeParts<All>]?: never })

export interface Feature extends Parts {
  changes: readonly AnyKind[]
  /** The functions that apply the changes, by their types. */
  appliers(): Promise<ReadonlyMap<string, AnyApply>>
}

/** A feature, which `features.ts` lists. Its file loads neither its routes nor what applies its changes. */
export function feature<const All extends Kinds>({
  changes,
  apply,
  ...parts
}: Definition<All>): Feature {
  const kinds = Object.entries<AnyKind>(changes ?? {})
  return {
    ...parts,
    changes: kinds.map(([, kind]) => kind),
    async appliers() {
      const functions: Readonly<Record<string, AnyApply>> = { ...(await apply?.()) }
      return new Map(
        kinds.flatMap(([name, { type }]) => {
          const found = functions[name]
          return found === undefined ? [] : [[type, found] as const]
        }),
      )
    },
  }
}

/** Loads the function that counts the registry; without a feature that has one, the census is empty. */
export async function loadCensus(features: readonly Feature[]): Promise<TakeCensus> {
  const census = features.find((each) => each.census !== undefined)?.census
  if (census === undefined) return async () => ({ keys: [], warnings: [], warnedProjects: [] })
  return (await census()).takeCensus
}

export const tablesOf = (features: readonly Feature[]): Table[] =>
  features.flatMap(({ tables = [] }) => tables)

export const subjectsOf = (features: readonly Feature[]): AnySubject[] =>
  features.flatMap(({ subjects = [] }) => subjects)

/** Verifies what features compare themselves. */
export const verifyTablesOf =
  (features: readonly Feature[]) =>
  async (db: Db): Promise<LedgerVerdict[]> => {
    const verdicts: LedgerVerdict[] = []
    for (const { verify } of features) {
      const compare = await verify?.()
      const verdict = await compare?.(db)
      if (verdict !== undefined) verdicts.push(verdict)
    }
    return verdicts
  }

/** Loads what applies the changes of all features. */
export async function loadAppliers(features: readonly Feature[]): Promise<Appliers> {
  const hooks = createHooks(features.flatMap((each) => each.hooks ?? []))
  const subjects = subjectsOf(features)
  const readCaller = createReadCaller(features)
  const loaded = await Promise.all(features.map((each) => each.appliers()))
  const functions = new Map(loaded.flatMap((each) => [...each]))
  const kinds = new Map(features.flatMap(({ changes }) => changes).map((kind) => [kind.type, kind]))
  return {
    apply<Change extends object, Result>(
      open: OpenTransaction,
      { type }: ChangeKind<Change, Result>,
      change: Change,
    ) {
      // The kind was made for this function.
      const apply = functions.get(type) as Apply<Change, Result> | undefined
      if (apply === undefined) throw new Error(`no feature applies ${type}`)
      return apply({ ...open, hooks, subjects, readCaller }, change)
    },
    kind(type) {
      const kind = kinds.get(type)
      if (kind === undefined) throw new Error(`no feature has ${type}`)
      return kind
    },
  }
}
