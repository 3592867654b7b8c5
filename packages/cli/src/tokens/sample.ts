import { sign, usualAlgorithm } from '@pubring/agents/keep/pair'
import { type Algorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { parseId } from '@pubring/server/kernel/values/ids'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { type Session, withConnection } from '../connection/session.ts'
import { findPublished, readPrivateKey } from '../keys/private-keys.ts'
import { usageError } from '../terminal/failures.ts'
import { printResult, type Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'

interface TokenSampleFlags extends ConnectionFlags {
  kid?: string
  algorithm?: Algorithm
  issuer?: string
  audience?: string
  subject: string
  lifetime: string
}

const kidHint = 'For a key of another project, set the kid of the header with --kid.'

/** Signs a token and prints it. The private key does not leave the machine. */
export async function sampleToken(
  terminal: Terminal,
  file: string,
  flags: TokenSampleFlags,
): Promise<void> {
  const lifetimeSeconds = parseDurationOption(flags.lifetime, '--lifetime')
  const chosen = flags.algorithm && jwsAlgorithmOf(flags.algorithm)
  const key = await readPrivateKey(file, terminal)
  const printToken = async (kid: string, alg: string, issuer = flags.issuer) => {
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { sub: flags.subject, iat, exp: iat + lifetimeSeconds, iss: issuer }
    const header = { alg, typ: 'JWT', kid }
    const token = await sign(key, header, { ...claims, aud: flags.audience }).catch(() => {
      const hint = 'Choose another one with --algorithm.'
      throw usageError(`This key cannot sign with ${alg}.`, hint)
    })
    printResult(terminal, { token }, () => `${token}\n`)
  }
  if (flags.kid !== undefined) {
    const alg = chosen ?? usualAlgorithm(key)
    if (alg === undefined) {
      throw usageError(`Keys of type ${key.asymmetricKeyType} cannot sign tokens.`)
    }
    await printToken(flags.kid, alg)
    return
  }
  const connection = resolveConnection(terminal.env, flags)
  await withConnection(terminal, connection, async (session) => {
    const { kid, alg } = await findPublished(session, key, kidHint)
    await printToken(kid, chosen ?? alg, flags.issuer ?? (await findIssuer(session)))
  })
}

/** The issuer of the project, read by its id; finding the id by its name needs an API key. */
async function findIssuer({ client, project, apiKeySource, notify }: Session) {
  const known = parseId(project)
  if (known === undefined && apiKeySource === undefined) {
    notify('The token has no iss: set it with --issuer, or name the project by its id.')
    return undefined
  }
  const id = known ?? (await client.projects.get(project)).id
  return (await client.jwks.discovery(id)).issuer
}
