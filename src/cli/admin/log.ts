import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'

export async function signCheckpoint({ client, print }: Session): Promise<void> {
  const signed = await client.log.checkpoint()
  print(signed, () => signed.checkpoint)
}

export async function startEpoch(
  { client, terminal, print, notify }: Session,
  flags: YesFlag,
): Promise<void> {
  await confirm(terminal, flags, {
    statement:
      'The log gets a new tree with a new name and verifier key. The present one will not grow any more.',
    question: 'Start it?',
  })
  const epoch = await client.log.startEpoch()
  print(epoch, () => `${epoch.verifierKey}\n`)
  notify(
    `The log goes on as ${epoch.origin}. Give this verifier key to those who verify it, and tell them why.`,
  )
}
