import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { signInRoutes } from './http/browser.ts'
import { commandLineRoutes } from './http/command-line.ts'
import { logoutRoute } from './http/logout.ts'
import { personRoutes } from './http/people.ts'
import { sessionRoutes } from './http/sessions.ts'
import { signInOf } from './sign-in.ts'

export async function routes(app: App, kernel: Kernel): Promise<void> {
  const signIn = await signInOf(kernel)
  sessionRoutes(app, kernel, signIn)
  personRoutes(app, kernel)
  if (signIn === undefined) return
  signInRoutes(app, kernel, signIn)
  commandLineRoutes(app, kernel)
  logoutRoute(app, signIn)
}
