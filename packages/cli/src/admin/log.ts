import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'

export async function signCheckpoint({ client, print }: Session): Promise<void> {
  const signed = await client.log.checkpoint()
  print(signed, () => signed.checkpoint)
}

export async function restartLog(
  { client, terminal, print, notify }: Session,
  flags: YesFlag,
): Promise<void> {
  await confirm(terminal, flags, {
    statement:
      'The log gets a new tree, with the name and verifier key of the new key. The entries of the present one are deleted.',
    question: 'Restart it?',
  })
  const tree = await client.log.restart()
  print(tree, () => `${tree.verifierKey}\n`)
  notify(
    `The log goes on as ${tree.origin}. Give this verifier key to those who verify it, and tell them why.`,
  )
}
