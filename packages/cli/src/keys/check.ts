import type { KeyCheck } from '@pubring/client'
import { examineKey, type Verdict } from '@pubring/intake'
import type { Algorithm } from '@pubring/intake/algorithms'
import { createBlocklist } from '@pubring/intake/blocklist'
import { publishedKidFault } from '@pubring/server/features/keys/kids'
import { toKeyCheck } from '@pubring/server/features/token-checks/check'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import {
  colorsFor,
  escapeControls,
  notify,
  printResult,
  quoteForShell,
  type Terminal,
} from '../terminal/terminal.ts'
import { readPublicKeyFile } from './files.ts'

/**
 * Checks a public key, in any form that `key add` takes, by the server's own rules, without a server:
 * prints the verdict, and exits with 1 if the key would be rejected. The key does not leave the machine.
 */
export async function check(
  terminal: Terminal,
  file: string,
  flags: { algorithm?: Algorithm },
): Promise<void> {
  const key = await readPublicKeyFile(file, terminal).catch(refusedFile)
  if (key instanceof CommandError) {
    reportRefusedFile(terminal, key)
    return
  }
  if (key.converted !== undefined) notify(terminal, key.converted)
  const algorithm = flags.algorithm ?? key.algorithm
  const verdict = examineKey(key.publicKeyPem, algorithm, createBlocklist())
  printResult(terminal, toKeyCheck(verdict), () => verdictText(verdict, terminal))
  if (verdict.ok && key.kid !== undefined) notify(terminal, kidAdvice(key.kid))
  if (!verdict.ok) terminal.exitCode = exitCodes.failed.code
}

/** The server checks a PEM, which has no kid; the tokens of the signer carry that of the JWK. */
function kidAdvice(kid: string): string {
  const fault = publishedKidFault(kid)
  return fault === undefined
    ? `Its JWK has the kid ${kid}: key add keeps it, as --published-kid ${quoteForShell(kid)} does for its PEM.`
    : `The kid of the JWK ${fault}: key add gives it another.`
}

/** A file without a usable public key is a result of the check; rethrows every other error. */
function refusedFile(error: unknown): CommandError {
  if (error instanceof CommandError && error.kind === 'refused') return error
  throw error
}

/** The `code` that registration would report, by the code of the error. */
const problems: Readonly<Record<string, string>> = {
  private_key: 'private_key_submitted',
  unsupported_key: 'unsupported_key',
}

function reportRefusedFile(terminal: Terminal, { code, message, hints }: CommandError): void {
  const { red } = colorsFor(terminal)
  const detail = [message, ...hints].join(' ')
  const report: KeyCheck = {
    accepted: false,
    problem: problems[code] ?? 'invalid_key_pem',
    faults: [{ code, detail }],
    warnings: [],
    normalised: [],
  }
  printResult(terminal, report, () => `${red('rejected')}\n  ${code}: ${escapeControls(detail)}\n`)
  terminal.exitCode = exitCodes.failed.code
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

/** For a person: `RSA 2048 bits`, `EC P-256`. */
function describeKind(key: { kty: string; crv?: string; bits?: number }): string {
  const size = key.crv ?? (key.bits === undefined ? '' : `${key.bits} bits`)
  return `${key.kty} ${size}`.trim()
}
