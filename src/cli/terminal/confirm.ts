import { CommandError, usageError } from './failures.ts'
import { isInteractive, type Terminal } from './terminal.ts'

/** What a person is asked before something that is hard to take back. */
export interface Question {
  /** What is so, or what will be. */
  statement: string
  question: string
  /** `--yes` was given. */
  yes: boolean | undefined
  /** Where nobody can be asked: whether it wants `--yes` then, or goes on. */
  unattended: 'refuse' | 'proceed'
}

/** Throws where the answer is no, and where there can be none but must be one. */
export async function confirm(
  terminal: Terminal,
  { statement, question, yes, unattended }: Question,
): Promise<void> {
  if (yes === true) return
  if (!isInteractive(terminal)) {
    if (unattended === 'proceed') return
    throw usageError(statement, 'Repeat it with --yes if that is meant. Nothing was changed.')
  }
  if (!(await ask(terminal, `${statement} ${question}`))) {
    throw new CommandError('failed', 'Nothing was changed.', { code: 'declined' })
  }
}

/** Yes or no; no is what Enter says. */
export async function ask(terminal: Terminal, question: string): Promise<boolean> {
  const { default: confirmPrompt } = await import('@inquirer/confirm')
  const { stdin: input, stderr: output } = terminal
  return confirmPrompt({ message: question, default: false }, { input, output })
}
