import { containsSecret, publicHalfCommand } from '@pubring/intake/secrets'

/** Longest text that is searched in every encoding, in characters: the service reads no more. */
const maxSearchedLength = 65_536

const apiKeyPattern = /pubring_[A-Za-z0-9]{20}/

/** Whether the text contains a private or symmetric key. The detector is the service's own. */
export const isPrivateKeyText = (text: string): boolean => containsSecret(text, maxSearchedLength)

export const isSecretText = (text: string): boolean =>
  apiKeyPattern.test(text) || isPrivateKeyText(text)

type SecretAdvice = { title: string; action: string; command?: string | undefined }

export function adviseOn(secret: string): SecretAdvice {
  if (apiKeyPattern.test(secret) && !isPrivateKeyText(secret)) {
    return {
      title: 'This is an API key. It was not sent.',
      action: 'Clear the field. If others may have seen the API key, revoke it.',
    }
  }
  const command = publicHalfCommand(secret, 'private.key')
  return {
    title: 'This looks like a private key. It was not sent.',
    action:
      'It has not left this browser. If it has passed through a chat, a ticket or a shared clipboard, treat the key as compromised and generate a new pair.',
    command,
  }
}
