import { peopleSince } from '../../kernel/access/seen-people.ts'
import { on } from '../../kernel/hooks.ts'
import { addPageHeaders } from '../../kernel/http/hooks/headers.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { commandLinePage, commandLineRoutes, logoutRoute, signInPages } from './http/browser.ts'
import { personRoutes, sessionRoutes } from './http/sessions.ts'
import { readPeopleSince } from './reads.ts'
import { endUnusedSessions } from './sessions.ts'
import { signInOf } from './sign-in.ts'

export const hooks = [on(peopleSince, readPeopleSince)]

export async function routes(app: App, kernel: Kernel): Promise<void> {
  const signIn = await signInOf(kernel)
  endUnusedSessions(kernel)
  sessionRoutes(app, kernel, signIn)
  personRoutes(app, kernel)
  if (signIn === undefined) return
  await app.register(async (pages: App) => {
    await addPageHeaders(pages, kernel.config.publicUrl)
    signInPages(pages, kernel, signIn)
    commandLinePage(pages, kernel)
  })
  commandLineRoutes(app, kernel)
  logoutRoute(app, signIn)
}
