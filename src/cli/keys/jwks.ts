import type { ConnectionFlags } from '../connection/connection.ts'
import { withSession } from '../connection/session.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The key set is JSON for whoever reads it, with `--json` and without. */
export async function showJwks(terminal: Terminal, flags: ConnectionFlags): Promise<void> {
  await withSession(
    terminal,
    flags,
    async ({ client, project, print, notify }) => {
      const jwks = await client.jwks.get(project)
      print(jwks, () => `${JSON.stringify(jwks, null, 2)}\n`)
      if (jwks.keys.length === 0)
        notify(`Project ${project} has no active keys: no token verifies.`)
    },
    { access: 'public' },
  )
}
