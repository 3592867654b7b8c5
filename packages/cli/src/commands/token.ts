import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import {
  addGroup,
  addProjectCommand,
  lazyAction,
  parseAlgorithm,
  sessionAction,
} from './options.ts'

/** Long because it is a list. */
export function registerTokens(program: Command, terminal: Terminal): void {
  const token = addGroup(program, 'token', 'Check tokens and sign samples')
  addProjectCommand(token, 'check', 'Explain whether a token verifies, and why', {
    notes:
      'Exits with 1 if it does not verify. A token is a secret: pass it in a file or on standard input, never on the command line.',
    examples: [
      'pubring token check < token.txt',
      'pubring token sample private.pem | pubring token check --audience orders',
    ],
  })
    .argument('[file]', 'The file with the token; - reads standard input', '-')
    .option(
      '--audience <aud>',
      'The aud that the verifier expects; without it, aud is not compared',
    )
    .option(
      '--issuer <iss>',
      'The iss that the verifier expects; default: the issuer of the project',
    )
    .option(
      '--at <time>',
      'Whether it would have verified then: a past time (2026-03-01, 90d) or iat, the time that the token says',
    )
    .action(sessionAction(terminal, async () => (await import('../tokens/check.ts')).checkToken))
  addProjectCommand(token, 'sample', 'Sign a token with a private key file, and print it', {
    notes:
      'The private key does not leave this machine. Without --kid, the kid comes from the project’s key set, which must contain the public half.',
    examples: [
      'pubring token sample private.pem --audience orders | pubring token check --audience orders',
      'pubring token sample private.pem --kid KID --lifetime 5m',
    ],
  })
    .argument('<file>', 'The private key: PEM or JWK; - reads standard input')
    .option('--kid <kid>', 'The kid in the header; no server is called')
    .option(
      '-a, --algorithm <name>',
      'The alg; default: that of the key set, or the usual one for the key',
      parseAlgorithm,
    )
    .option('--issuer <iss>', 'The claim iss; default: the issuer of the project')
    .option('--audience <aud>', 'The claim aud; default: none')
    .option('--subject <sub>', 'The claim sub', 'sample')
    .option('--lifetime <time>', 'How long it is valid', '5m')
    .action(lazyAction(terminal, async () => (await import('../tokens/sample.ts')).sampleToken))
}
