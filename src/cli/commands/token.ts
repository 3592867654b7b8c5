import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import type { TokenCheckFlags } from '../tokens/check.ts'
import type { TokenSampleFlags } from '../tokens/sample.ts'
import { addApiCommand, addGroup } from './options.ts'

export function registerTokens(program: Command, terminal: Terminal): void {
  const token = addGroup(program, 'token', 'tokens: why one verifies or not, and one to try')
  registerCheck(token, terminal)
  registerSample(token, terminal)
}

function registerCheck(token: Command, terminal: Terminal): void {
  addApiCommand(token, {
    usage: 'check',
    description: 'say why a token verifies or not; exit code 1 where it does not',
    project: true,
    notes:
      'A token is a secret: it is read from a file or from standard input, never from the command line.',
    examples: [
      'pubring token check < token.txt',
      'pubring token sample private.pem | pubring token check --audience orders',
    ],
  })
    .argument('[file]', 'file with the token; by default, or with -, standard input', '-')
    .option('--audience <aud>', 'the aud that the verifier wants')
    .option('--issuer <iss>', 'the iss that the verifier wants')
    .action(async (file: string, flags: TokenCheckFlags) => {
      const { checkToken } = await import('../tokens/check.ts')
      await checkToken(terminal, file, flags)
    })
}

function registerSample(token: Command, terminal: Terminal): void {
  addApiCommand(token, {
    usage: 'sample',
    description: 'sign a token with a private key file, on this machine, and print it',
    project: true,
    notes:
      'The private key goes nowhere. Without --kid the key set of the project is fetched, and the kid is that of the public half in it.',
    examples: [
      'pubring token sample private.pem --audience orders | pubring token check --audience orders',
      'pubring token sample private.pem --kid KID --lifetime 5m',
    ],
  })
    .argument('<file>', 'the private key: PEM or JWK; - reads standard input')
    .option('--kid <kid>', 'what the header carries as kid; then no server is asked')
    .option(
      '-a, --algorithm <name>',
      'the alg; by default that of the key set, or the usual one of the key',
    )
    .option('--issuer <iss>', 'the claim iss; by default none')
    .option('--audience <aud>', 'the claim aud; by default none')
    .option('--subject <sub>', 'the claim sub', 'sample')
    .option('--lifetime <time>', 'until it expires', '5m')
    .action(async (file: string, flags: TokenSampleFlags) => {
      const { sampleToken } = await import('../tokens/sample.ts')
      await sampleToken(terminal, file, flags)
    })
}
