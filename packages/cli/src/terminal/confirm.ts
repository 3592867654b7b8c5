import { CommandError } from './failures.ts'
import { isInteractive, type Terminal } from './terminal.ts'

export interface YesFlag {
  yes?: true
}

/** A confirmation before an action that is hard to undo. */
interface Question {
  /** Says what is the case, or what will happen. */
  statement: string
  question: string
  /** Whether `--yes` is required if there is no person to ask. */
  needsYes?: boolean
}

/** Throws if the user declines, or if `--yes` is required and missing. */
export async function confirm(
  terminal: Terminal,
  { yes }: YesFlag,
  { statement, question, needsYes = false }: Question,
): Promise<void> {
  if (yes === true) return
  if (!isInteractive(terminal)) {
    if (!needsYes) return
    const hints = ['To confirm, repeat with --yes. Nothing was changed.']
    throw new CommandError('declined', statement, { hints })
  }
  if (!(await ask(terminal, `${statement} ${question}`))) {
    throw new CommandError('declined', 'Nothing was changed.')
  }
}

/** Asks for a text, which begins with a suggestion that can be edited. Throws on Ctrl-C and Ctrl-D. */
export async function askText(
  { stdin: input, stderr: output }: Terminal,
  question: string,
  suggestion: string,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input, output, terminal: true })
  const interrupted = new AbortController()
  for (const event of ['SIGINT', 'close']) lines.on(event, () => interrupted.abort())
  const answer = lines.question(`${question} `, { signal: interrupted.signal })
  lines.write(suggestion)
  try {
    return (await answer).trim()
  } catch {
    throw new CommandError('interrupted', 'Interrupted.')
  } finally {
    lines.close()
  }
}

/** Asks a yes-or-no question; Enter means no. */
export async function ask(terminal: Terminal, question: string): Promise<boolean> {
  const { default: confirmPrompt } = await import('@inquirer/confirm')
  const { stdin: input, stderr: output } = terminal
  return confirmPrompt({ message: question, default: false }, { input, output })
}
