import process from 'node:process'
import { clientSettings } from '../../config/client-settings.ts'
import type { Config } from '../../config/server-settings.ts'
import { firstProject } from '../../core/first-start.ts'

/** Reports that the server is ready, with the first steps if an admin API key was created. */
export function announceReady({ publicUrl }: Config, newSecret: string | undefined): void {
  if (newSecret !== undefined) process.stdout.write(welcome(publicUrl, newSecret))
  else if (process.stdout.isTTY) process.stdout.write(`Pubring is ready at ${publicUrl}\n`)
}

/** The commands find a server at the default address without this. */
function serverAddress(publicUrl: string): string {
  if (publicUrl === clientSettings.url.default) return ''
  return `  export PUBRING_URL=${publicUrl}\n`
}

/**
 * What the first start prints: the only time that the secret is shown, and lines that work as
 * pasted into a POSIX shell with openssl, awk and curl.
 */
function welcome(publicUrl: string, secret: string): string {
  const keys = `${publicUrl}/v1/projects/${firstProject}/jwt-keys`
  return `
Pubring is ready at ${publicUrl}

Your admin API key, shown only once (keep it safe):

  export PUBRING_API_KEY=${secret}
${serverAddress(publicUrl)}
Generate a key pair; private.pem stays with the signer:

  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem
  openssl pkey -in private.pem -pubout -out key.pem

Register the public half:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY" -H 'Content-Type: application/json' -d "{\\"name\\": \\"my first key\\", \\"algorithm\\": \\"RSA\\", \\"publicKeyPem\\": \\"$(awk '{printf "%s\\\\n", $0}' key.pem)\\"}"

List the project's keys:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY"

API documentation: ${publicUrl}/docs
`
}
