import type { TokenCheck } from '@pubring/client'
import { maxTextLength } from '@pubring/intake/encoding'
import { containsSecret } from '@pubring/intake/secrets'
import { present } from '@pubring/server/runtime/present'
import type { Session } from '../connection/session.ts'
import { privateKeyFile } from '../keys/files.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { fileError, usageError } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import { formatSteps } from '../terminal/table.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { isToken } from '../terminal/text.ts'
import { parseTimeOption } from '../terminal/times.ts'

/** Explains step by step why a token verifies or does not; exit code 1 if it does not. */
export async function checkToken(
  { client, project, terminal, print }: Session,
  file: string,
  { audience, issuer, at: when }: { audience?: string; issuer?: string; at?: string },
): Promise<void> {
  const token = await readToken(file, terminal)
  const at = when === undefined || when === 'iat' ? when : parseTimeOption(when, '--at', -1)
  const report = await client.tokens.check(project, { token, ...present({ audience, issuer, at }) })
  print(report, () => reportText(report, terminal))
  if (!report.valid) terminal.exitCode = exitCodes.failed.code
}

/**
 * The token in the file. It may have white space around it, or be copied as the value of a header. Throws for a
 * private key, so that it does not leave the machine.
 */
export async function readToken(file: string, terminal: Terminal): Promise<string> {
  if (isToken(file)) {
    throw usageError(
      'A token is a secret, and others can read a command line.',
      'Pass it on standard input: … < token.txt',
    )
  }
  const text = await readText(file, terminal)
  const token = text.trim().replace(/^(?:Authorization:\s*)?Bearer\s+/i, '')
  if (token === '' || (!isToken(token) && token.length > maxTextLength)) {
    throw fileError(`${sourceName(file)} holds no token.`)
  }
  if (!isToken(token) && containsSecret(token, maxTextLength)) {
    throw privateKeyFile(file, Buffer.from(text))
  }
  return token
}

function reportText(report: TokenCheck, terminal: Terminal): string {
  const { green, red } = colorsFor(terminal)
  const verdict = report.valid ? green('valid') : `${red('not valid')}: ${report.reason}`
  return `${verdict}\n${formatSteps(terminal, report.steps, '  ')}`
}
