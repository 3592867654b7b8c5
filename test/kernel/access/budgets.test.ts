import { type FastifyRequest, fastify } from 'fastify'
import { expect, test } from 'vitest'
import { createLimit } from '../../../packages/server/src/kernel/http/hooks/rate-limits.ts'

test('a new window has its full length at any time of the clock', async () => {
  let milliseconds = 0
  const clock = { now: Date.now, monotonic: () => milliseconds }
  const rate = { limit: 1, window: 60 }
  const spend = createLimit(clock, { name: 'n', rate, reason: 'r' })
  const app = fastify()
  app.get('/:time', async (request: FastifyRequest<{ Params: { time: string } }>, reply) => {
    milliseconds = Number(request.params.time)
    spend('caller', reply)
    return ''
  })
  for (let time = 1_000.1; time < 1e7; time += 60_000.7) {
    const { headers } = await app.inject({ url: `/${time}` })
    expect(headers.ratelimit).toBe('"n";r=0;t=60')
  }
  await app.close()
})
