import { expect, onTestFinished, test } from 'vitest'
import { startBaseline } from '../../bench/server/baseline.ts'
import { type CapturedResponse, capture } from '../../bench/server/capture.ts'

const headers = ['content-type', 'application/json', 'x-request-id', 'one', 'etag', '"a"']

test.each<CapturedResponse>([
  { status: 200, headers: [...headers, 'content-length', '2'], body: '{}' },
  { status: 304, headers, body: '' },
])(
  'the baseline serves $status with the headers and the bytes of the real response',
  async (content) => {
    const baseline = await startBaseline()
    onTestFinished(() => baseline.close())
    const port = await baseline.serve(content)
    expect(await capture(port, { method: 'GET', path: '/any', headers: {} })).toEqual(content)
  },
)
