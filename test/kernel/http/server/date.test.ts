import { expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { stoppedClock } from '../../../support/app/clock.ts'

test('Date has the time of the clock that all replicas share, from the cache and in a 304 too', async () => {
  const clock = stoppedClock()
  clock.advance(24 * 3_600_000)
  const server = await startApp({ clock })
  const { id } = server.project
  const paths = [
    '/v1/self',
    `/v1/projects/${id}/jwt-keys`,
    `/v1/projects/${id}/.well-known/jwks.json`,
  ]
  const date = () => new Date(clock.now()).toUTCString()
  for (const path of [...paths, '/v1/unknown']) {
    for (let count = 0; count < 4; count += 1) {
      clock.advance(1_000)
      const { headers } = await server.send('GET', path)
      expect(headers.date, path).toBe(date())
      if (headers.etag === undefined) continue
      const known = { 'if-none-match': String(headers.etag) }
      const again = await server.send('GET', path, { headers: known })
      expect([again.statusCode, again.headers.date], path).toEqual([304, date()])
    }
  }
})
