import { toKeyCheck } from '../../core/keys/intake.ts'
import { createBlocklist } from '../../intake/blocklists/blocklist.ts'
import { examineKey } from '../../intake/index.ts'
import type { Verdict } from '../../intake/types.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { readBytes } from '../terminal/files.ts'
import { printResult } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { readAlgorithm } from './files.ts'

/**
 * Says whether a public key would be taken, by the server's own rules and without a server: the
 * verdict on stdout, exit code 1 where it would be refused. The key leaves the machine nowhere.
 */
export async function check(
  terminal: Terminal,
  file: string,
  flags: { algorithm?: string; json?: true },
): Promise<void> {
  const algorithm = readAlgorithm(flags.algorithm)
  const octets = await readBytes(file, terminal)
  const verdict = examineKey(octets.toString('utf8'), algorithm, createBlocklist())
  printResult(terminal, flags.json, toKeyCheck(verdict), () => text(verdict, terminal))
  if (!verdict.ok) terminal.exitCode = exitCodes.failed.code
}

function text(verdict: Verdict, { stdout, env }: Terminal): string {
  const { key, normalised } = verdict
  const { green, red } = colorsFor(stdout, env)
  const lines = [
    verdict.ok ? green('accepted') : red('refused'),
    ...(verdict.ok ? [] : verdict.faults.map(({ code, detail }) => `  ${code}: ${detail}`)),
  ]
  if (key !== undefined) {
    const size = key.crv ?? (key.bits === undefined ? '' : `${key.bits} bits`)
    lines.push(
      `  key         ${[key.kty, size].join(' ').trim()}`,
      `  algorithm   ${key.algorithms.join(' ')}`,
      `  thumbprint  ${key.thumbprint}`,
      `  SPKI hash   ${key.spkiSha256}`,
    )
  }
  if (normalised.length > 0) lines.push(`  repaired    ${normalised.join(' ')}`)
  return `${lines.join('\n')}\n`
}
