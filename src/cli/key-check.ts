import { readFileSync } from 'node:fs'
import process from 'node:process'
import { closest } from 'fastest-levenshtein'
import picocolors from 'picocolors'
import { type Algorithm, algorithmNames } from '../contract/algorithms.ts'
import { createBlocklist } from '../core/intake/blocklist.ts'
import { examineKey } from '../core/intake/index.ts'
import type { Verdict } from '../core/intake/types.ts'
import { presentVerdict } from '../core/key-intake.ts'

/**
 * Says whether a public key would be taken, by the server's own rules and without a server: the
 * verdict on stdout, exit code 1 where it would be refused. The key leaves the machine nowhere.
 */
export function check(file: string, flags: { algorithm?: string; json?: true }): void {
  const verdict = examineKey(readKey(file), readAlgorithm(flags.algorithm), createBlocklist())
  process.stdout.write(
    flags.json ? `${JSON.stringify(presentVerdict(verdict), null, 2)}\n` : text(verdict),
  )
  if (!verdict.ok) process.exitCode = 1
}

function readKey(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') throw new Error(`There is no file ${file}.`)
    if (code === 'EISDIR') throw new Error(`${file} is a folder: name the file of one key.`)
    throw new Error(`${file} cannot be read.`)
  }
}

function readAlgorithm(name: string | undefined): Algorithm | undefined {
  const found = algorithmNames.find((algorithm) => algorithm === name)
  if (name !== undefined && found === undefined) {
    const near = closest(name, [...algorithmNames])
    throw new Error(
      `--algorithm must be one of ${algorithmNames.join(', ')}; did you mean ${near}?`,
    )
  }
  return found
}

function text(verdict: Verdict): string {
  const { key, normalised } = verdict
  const lines = [
    verdict.ok ? picocolors.green('accepted') : picocolors.red('refused'),
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
