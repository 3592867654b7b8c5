import { type KeyImportItem, PubringError } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { endsAll, isEmpty, type Plan, planDocument, planOf, planText, takesAway } from './plan.ts'
import { type DeclaredKey, readDeclaration } from './sources/declaration.ts'

/** Flags of `apply`. */
export interface ApplyFlags extends ConnectionFlags {
  prune?: true
  dryRun?: true
  yes?: true
}

/** Makes the keys of a project those that the file declares: shows the plan, then carries it out. */
export async function applyFile(
  terminal: Terminal,
  file: string,
  flags: ApplyFlags,
): Promise<void> {
  const { project: declared, keys } = await readDeclaration(file, terminal)
  if (flags.project !== undefined && declared !== undefined && flags.project !== declared) {
    throw usageError(`The file is about project ${declared}, the command about ${flags.project}.`)
  }
  const ofFile = declared === undefined ? {} : { project: declared, projectSource: file }
  const about = flags.project === undefined ? { ...flags, ...ofFile } : flags
  await withSession(terminal, about, async (session) => {
    const existing = await session.client.keys.list(session.project)
    const kids = await registeredKids(session, keys)
    const plan = planOf(keys, kids, existing, { prune: flags.prune === true, now: session.now() })
    show(session, plan, flags)
    if (isEmpty(plan) || flags.dryRun === true) return
    await requireConsent(terminal, plan, flags, endsAll(plan, existing, session.now()))
    await carryOut(session, plan)
    const { add, change, delete: removed } = plan
    session.notify(`Added ${add.length}, changed ${change.length}, deleted ${removed.length}.`)
  })
}

/** Which of the declared keys are registered; the server compares, and says which it would refuse. */
async function registeredKids(
  { client, project }: Session,
  declared: readonly DeclaredKey[],
): Promise<(string | undefined)[]> {
  if (declared.length === 0) return []
  // Whether a time has passed already counts for new keys alone.
  const keys = declared.map(({ expireTime: _time, ...key }) => key)
  try {
    const { items } = await client.keys.import(project, { keys, dryRun: true })
    return items.map(({ outcome, kid }) => (outcome === 'present' ? kid : undefined))
  } catch (error) {
    throw refusal(error, declared)
  }
}

function refusal(error: unknown, declared: readonly DeclaredKey[]): unknown {
  if (!(error instanceof PubringError) || error.code !== 'import_refused') return error
  const hints = (error.problem?.errors ?? []).map(({ pointer = '', detail }) => {
    const index = Number(pointer.split('/')[2])
    const said = detail.replace(/\/keys\/(\d+)/g, (_pointer, at) => `key ${Number(at) + 1}`)
    return `Key ${index + 1}, ${declared[index]?.name}: ${said}`
  })
  return new CommandError('refused', 'Keys of the file are refused. Nothing was changed.', {
    code: error.code,
    hints,
    ...(error.problem === undefined ? {} : { problem: error.problem }),
  })
}

function show(session: Session, plan: Plan, { dryRun }: ApplyFlags): void {
  const { project, notify } = session
  session.print({ project, dryRun: dryRun === true, ...planDocument(plan) }, () => planText(plan))
  if (plan.undeclared.length > 0) {
    notify(
      `Keys that the file does not have: ${plan.undeclared.length}. They stay; --prune deletes them.`,
    )
  }
  if (isEmpty(plan)) notify(`Nothing to do: project ${project} is as the file says.`)
}

async function requireConsent(
  terminal: Terminal,
  plan: Plan,
  { yes }: ApplyFlags,
  endsEverything: boolean,
): Promise<void> {
  if (endsEverything && yes !== true) {
    throw usageError(
      'This takes away the last active key: no token of the project would verify.',
      'Repeat it with --yes if that is meant. Nothing was changed.',
    )
  }
  const isRemoval = takesAway(plan) || plan.delete.length > 0
  await confirm(terminal, {
    statement: isRemoval ? 'This switches keys off, or deletes them.' : 'This is the plan.',
    question: 'Do it?',
    yes,
    unattended: isRemoval ? 'refuse' : 'proceed',
  })
}

/** New keys first, so that there is always one to sign with; what is no longer wanted last. */
async function carryOut({ client, project }: Session, plan: Plan): Promise<void> {
  const keys: KeyImportItem[] = plan.add
  if (keys.length > 0) {
    await client.keys.import(project, { keys }).catch((error: unknown) => {
      throw refusal(error, plan.add)
    })
  }
  for (const { key, patch } of plan.change) await client.keys.update(project, key.id, patch)
  for (const { id, active } of plan.delete) {
    if (active) await client.keys.update(project, id, { active: false })
    await client.keys.delete(project, id)
  }
}
