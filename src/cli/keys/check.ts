import { toKeyCheck } from '../../core/keys/checks.ts'
import { createBlocklist } from '../../intake/blocklists/blocklist.ts'
import { examineKey } from '../../intake/index.ts'
import type { Verdict } from '../../intake/types.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { readBytes } from '../terminal/files.ts'
import { printResult } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { describeKind, parseAlgorithm } from './kinds.ts'

/**
 * Checks a public key by the server's own rules, without a server: prints the verdict, and exits
 * with 1 if the key would be rejected. The key does not leave the machine.
 */
export async function check(
  terminal: Terminal,
  file: string,
  flags: { algorithm?: string },
): Promise<void> {
  const algorithm = parseAlgorithm(flags.algorithm)
  const text = (await readBytes(file, terminal)).toString('utf8')
  const verdict = examineKey(text, algorithm, createBlocklist())
  printResult(terminal, toKeyCheck(verdict), () => verdictText(verdict, terminal))
  if (!verdict.ok) terminal.exitCode = exitCodes.failed.code
}

function verdictText(verdict: Verdict, terminal: Terminal): string {
  const { key, normalised } = verdict
  const { green, red } = colorsFor(terminal)
  const lines = verdict.ok
    ? [green('accepted'), ...verdict.warnings.map(({ detail }) => `  warning     ${detail}`)]
    : [red('rejected'), ...verdict.faults.map(({ code, detail }) => `  ${code}: ${detail}`)]
  const skipped = verdict.ok ? [] : verdict.faults.flatMap((fault) => fault.skipped ?? [])
  if (key !== undefined) {
    lines.push(
      `  key         ${describeKind(key)}`,
      `  algorithm   ${key.algorithms.join(' ')}`,
      `  thumbprint  ${key.thumbprint}`,
      `  SPKI hash   ${key.spkiSha256}`,
    )
  }
  if (skipped.length > 0) lines.push(`  not checked ${skipped.join(' ')}`)
  if (normalised.length > 0) lines.push(`  repaired    ${normalised.join(' ')}`)
  return `${lines.join('\n')}\n`
}
