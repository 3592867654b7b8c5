import { expect, test } from 'vitest'
import { formatDuration, parseTimeOption } from '../../packages/cli/src/terminal/times.ts'
import { startShell } from './support.ts'

const shell = await startShell()

test.each([
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2027-01-31T12:30Z', '2027-01-31T12:30:00.000Z'],
  ['2027-01-31 12:30:05+02:00', '2027-01-31T10:30:05.000Z'],
  ['2027-01-31t12:30:05.5z', '2027-01-31T12:30:05.500Z'],
])('%s is a time', (text, time) => {
  expect(parseTimeOption(text, '--expires')).toBe(time)
})

test.each([
  '2027-02-30',
  '2027-02-29',
  '2027-04-31T00:00:00Z',
  '2027-13-01',
  '2027-01-31T12:30:05',
  '2027-01-31T25:00:00Z',
  '1.5h',
  '-3d',
  'tomorrow',
  '',
])('%j is rejected, not corrected', (text) => {
  expect(() => parseTimeOption(text, '--expires')).toThrow(
    expect.objectContaining({
      kind: 'usage',
      message: expect.stringMatching(/^--expires must be/),
    }),
  )
})

test.each(['99999999d', `${'9'.repeat(400)}s`, '9999999w'])(
  '%j is too far in the future',
  (text) => {
    const message = /^--expires must be before the year 10000/
    expect(() => parseTimeOption(text, '--expires')).toThrow(message)
  },
)

test.each([
  ['30 d', 30 * 86_400_000],
  ['15 d', 15 * 86_400_000],
  ['400 d', 400 * 86_400_000],
  ['10 y', 10 * 31_557_600_000],
  ['47 h', 47 * 3_600_000],
  ['61 s', 60_400],
  ['3 min', 121_000],
])('a duration is formatted as %s', (formatted, milliseconds) => {
  expect(formatDuration(milliseconds)).toBe(formatted)
})

test.each([
  ['key-uses report - --as edge --interval 0', '--interval must be from 1m to 30d.'],
  ['key-uses report - --as edge --interval 59s', '--interval must be from 1m to 30d.'],
  ['key-uses report - --as edge --interval 5w', '--interval must be from 1m to 30d.'],
  ['key keep keys --every 0 --token-lifetime 1h', '--every must be at least 1s.'],
  ['key keep keys --every 1d --token-lifetime 0', '--token-lifetime must be at least 1s.'],
  ['token sample - --lifetime 0s', '--lifetime must be at least 1s.'],
  ['access-rule update a --max-lifetime 16m', '--max-lifetime must be from 60s to 15m.'],
  ['access-rule update a --max-lifetime 900', '--max-lifetime must be a duration such as 90s,'],
  ['key list --timeout 0', '--timeout must be a time from 1 to'],
])('a duration that cannot be is refused with its bounds and units: %s', async (command, fault) => {
  const ran = await shell.pubring(command.split(' '), { env: { PUBRING_PROJECT: 'default' } })
  expect(ran).toMatchObject({ code: 64, stderr: expect.stringContaining(fault) })
})
