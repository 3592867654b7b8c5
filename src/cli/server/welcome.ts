import process from 'node:process'
import { firstProject } from '../../core/first-start.ts'

/** Says that the server is ready: with all that a newcomer needs where an API key was made. */
export function announce(publicUrl: string, newSecret: string | undefined): void {
  if (newSecret !== undefined) process.stdout.write(welcome(publicUrl, newSecret))
  else if (process.stdout.isTTY) process.stdout.write(`Pubring is ready at ${publicUrl}\n`)
}

/** A secret that was made exists from then on, so it is shown even where the start came to nothing. */
export function announceLoss(newSecret: string | undefined): void {
  if (newSecret !== undefined) process.stdout.write(adminApiKey(newSecret))
}

/** The lines that show a new admin API key. */
function adminApiKey(secret: string): string {
  return `Your admin API key, shown this once (keep it safe):

  export PUBRING_API_KEY=${secret}
`
}

/**
 * What the first start prints: the only time that the secret is shown, and lines that work as
 * pasted into a POSIX shell with openssl, awk and curl.
 */
function welcome(publicUrl: string, secret: string): string {
  const keys = `${publicUrl}/v1/projects/${firstProject}/jwt-keys`
  return `
Pubring is ready at ${publicUrl}

${adminApiKey(secret)}
Make a key pair; private.pem stays with whoever signs:

  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem
  openssl pkey -in private.pem -pubout -out key.pem

Register the public half:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY" -H 'Content-Type: application/json' -d "{\\"name\\": \\"my first key\\", \\"algorithm\\": \\"RSA\\", \\"publicKeyPem\\": \\"$(awk '{printf "%s\\\\n", $0}' key.pem)\\"}"

List the project's keys:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY"

The API is described at ${publicUrl}/docs
`
}
