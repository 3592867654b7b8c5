import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { eventFeedOf } from './feed.ts'
import { historyRoute } from './http/history.ts'
import { eventRoutes } from './http/ledgers.ts'

export function routes(app: App, kernel: Kernel): void {
  eventRoutes(app, kernel)
  historyRoute(app, kernel)
}

export function metrics(kernel: Kernel, { gauge }: Meters): void {
  gauge({
    name: 'pubring_event_streams',
    help: 'Open event streams.',
    read: eventFeedOf(kernel).count,
  })
}
