import type { TokenCheck } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { withSession } from '../connection/session.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { usageError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { escapeControls } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'

export interface TokenCheckFlags extends ConnectionFlags {
  audience?: string
  issuer?: string
}

/** Says step by step why a token verifies or not; exit code 1 where it does not. */
export async function checkToken(
  terminal: Terminal,
  file: string,
  flags: TokenCheckFlags,
): Promise<void> {
  if (/^ey[\w-]+\.[\w-]+\./.test(file)) {
    throw usageError(
      'A token is a secret, and a command line can be read by others.',
      'Give it on standard input: pubring token check < token.txt',
    )
  }
  const token = tokenIn((await readBytes(file, terminal)).toString('utf8'), sourceName(file))
  const { audience, issuer } = flags
  await withSession(terminal, flags, async ({ client, project, print }) => {
    const report = await client.tokens.check(project, {
      token,
      ...(audience === undefined ? {} : { audience }),
      ...(issuer === undefined ? {} : { issuer }),
    })
    print(report, () => textOf(report, terminal))
    if (!report.valid) terminal.exitCode = exitCodes.failed.code
  })
}

/** As people copy it: with white space around it, or as a header's value. */
function tokenIn(text: string, name: string): string {
  const token = text
    .replace(/^\uFEFF/, '')
    .trim()
    .replace(/^(?:Authorization:\s*)?Bearer\s+/i, '')
  if (token === '') throw usageError(`${name} holds no token.`)
  return token
}

function textOf(report: TokenCheck, { stdout, env }: Terminal): string {
  const { green, red } = colorsFor(stdout, env)
  const verdict = report.valid ? green('valid') : `${red('not valid')}: ${report.reason}`
  const steps = report.steps.map(({ step, ok, detail }) => {
    return `  ${ok ? green('ok    ') : red('FAILED')}  ${step.padEnd(11)}  ${escapeControls(detail)}`
  })
  return `${[verdict, ...steps].join('\n')}\n`
}
