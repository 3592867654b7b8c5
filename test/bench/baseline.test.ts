import { expect, onTestFinished, test } from 'vitest'
import { startBaseline } from '../../bench/server/baseline.ts'
import { type CapturedResponse, capture } from '../../bench/server/capture.ts'

const headers = ['content-type', 'application/json', 'x-request-id', 'one', 'etag', '"a"']

test.each<CapturedResponse>([
  { status: 200, headers: [...headers, 'content-length', '2'], body: '{}' },
  { status: 304, headers, body: '' },
])(
  'the floor answers $status with the headers and the octets of the real answer',
  async (content) => {
    const floor = await startBaseline()
    onTestFinished(() => floor.close())
    const port = await floor.serve(content)
    expect(await capture(port, { method: 'GET', path: '/any', headers: {} })).toEqual(content)
  },
)
