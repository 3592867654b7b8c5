import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** A kind of code that makes a test red on a busy machine, or hides that it is red. */
interface Rule {
  name: string
  find(text: string): string[]
}

const shortestSleepMs = 500
const shortestBoundMs = 5_000

const matches = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([found, ...groups]) => ({ found, groups }))

const numberIn = (text: string) =>
  Math.max(0, ...matches(text, /\d[\d_]*(?:\.\d+)?/g).map(({ found }) => toNumber(found)))

const toNumber = (literal: string) => Number(literal.replaceAll('_', ''))

/** A call that sleeps, and what follows in its parentheses up to the end of the line. */
const sleeps =
  /\b(?:delay|sleep|pause|waitForTimeout)\(([^\n]*)|\bsetTimeout\((?:resolve|done|\w+),([^\n]*)/g

/** An upper bound of something that is, or is named as, a duration. */
const bounds =
  /expect\(([^\n]*?)\)\s*\.toBeLessThan(?:OrEqual)?\(\s*([\d_]+)|(\S*\b(?:ms|Ms|elapsed)) <=? ([\d_]+)/g

const durations =
  /performance\.now|cpuUsage|\bcost\(|Date\.now\(\) - |\belapsed|\btook\b|(?<!\.)\bslowest\b|\.ms\b|[a-z]Ms\b|\btimes\b/

/** Reads a page once. A check that something is absent or empty must not wait until it is. */
const earlyReads =
  /expect\(\s*await [^\n]*\.(?:all(?:TextContents|InnerTexts)\(\)|(?:textContent|innerText|inputValue|getAttribute|count)\([^()\n]*\),?\s*\)\s*\.(?!not\b|toBe\((?:''|0)\)|toBeLessThan))/g

const rules: Rule[] = [
  {
    name: 'a fixed sleep of half a second or more',
    find: (text) =>
      matches(text, sleeps)
        .filter(({ groups }) => numberIn(groups.join('')) >= shortestSleepMs)
        .map(({ found }) => found),
  },
  {
    name: 'a bound of real time under five seconds',
    find: (text) =>
      matches(text, bounds)
        .filter(({ groups: [expression = '', limit = '', compared, other = ''] }) =>
          compared === undefined
            ? durations.test(expression) && toNumber(limit) < shortestBoundMs
            : toNumber(other) < shortestBoundMs,
        )
        .map(({ found }) => found),
  },
  {
    name: 'a short limit of a wait',
    find: (text) =>
      matches(text, /\bvi\.wait(?:For|Until)\(|\.poll\([^;\n]*timeout:|^\s*\}, [\d_]{4,}\)$/gm).map(
        ({ found }) => found,
      ),
  },
  {
    name: 'a skipped, sole or repeated test',
    find: (text) =>
      matches(text, /\b(?:test|it|describe)\.(?:skip|only|todo|skipIf)\b|\{ retry: \d/g).map(
        ({ found }) => found,
      ),
  },
  {
    name: 'what a page shows, compared before it may be there',
    find: (text) => matches(text, earlyReads).map(({ found }) => found),
  },
]

const files = globSync('test/**/*.test.ts', {
  exclude: ['test/node_modules', '**/*.long.test.ts', 'test/suite-rules.test.ts'],
})

test.each(rules)('no test has $name', ({ find }) => {
  const found = files.flatMap((file) => {
    const all = find(readFileSync(file, 'utf8'))
    return all.length > 0 ? [`${file}: ${all.join(' | ')}`] : []
  })
  expect(found).toEqual([])
})

test('neither the commands nor the checks of a commit repeat a test', () => {
  for (const file of ['package.json', '.ci/run', 'vitest.config.ts', 'vitest.long.config.ts']) {
    expect(readFileSync(file, 'utf8')).not.toMatch(/retry[:=\s]/)
  }
})

test.each([
  ['await delay(500)', 0],
  ['await delay(1_500)', 0],
  ['await Promise.race([held, delay(1_000, "held")])', 0],
  ['await delay(Math.max(0, away + 5_500 - performance.now()))', 0],
  ['await new Promise((resolve) => setTimeout(resolve, 4_000))', 0],
  ['await page.waitForTimeout(600)', 0],
  ['expect(performance.now() - began).toBeLessThan(1_000)', 1],
  ['expect(cost(text)).toBeLessThan(10)', 1],
  ['expect(slowest).toBeLessThan(1_000)', 1],
  ['expect(Math.max(...times)).toBeLessThan(1_000)', 1],
  ['expect(live.ms).toBeLessThanOrEqual(1_000)', 1],
  ['expect([live.status, live.ms < 1_000]).toEqual([200, true])', 1],
  ['await vi.waitFor(check)', 2],
  ['await expect.poll(read, { timeout: 2_000 }).toBe(1)', 2],
  ['  expect(1).toBe(1)\n}, 60_000)', 2],
  ['test.skip("later", () => {})', 3],
  ['describe.only("this", () => {})', 3],
  ['test("flaky", { retry: 2 }, () => {})', 3],
  ["expect(await items.allTextContents()).toEqual(['Delete'])", 4],
  ["expect(await label.inputValue()).toBe('winter')", 4],
  ["expect(await link.getAttribute('href')).toContain('#')", 4],
  ['expect(await rows().count()).toBe(1)', 4],
])('the rules find %j', (sample, index) => {
  expect(rules.map(({ find }) => find(sample).length > 0).indexOf(true)).toBe(index)
})

test.each([
  'await delay(50)',
  'await delay(200 * Math.random())',
  'expect(found.length).toBeLessThan(11)',
  'expectWithin(1_000, performance.now() - began)',
  'expect(response.ms).toBeLessThan(15_000)',
  'await expect.poll(read, { interval: 5 }).toBe(1)',
  "expect(await secret.inputValue()).toBe('')",
  'expect(await alerts.count()).toBe(0)',
])('the rules allow %j', (sample) => {
  expect(rules.flatMap(({ find }) => find(sample))).toEqual([])
})
