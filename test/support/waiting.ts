import { setTimeout as delay } from 'node:timers/promises'

/** How long a test waits for something that has to happen, on a machine of any speed. Milliseconds. */
export const waitLimitMs = 120_000

const pauseMs = 10

/** Resolves with the first result of the condition that is truthy. */
export async function waitUntil<Result>(
  condition: () => Result | Promise<Result>,
): Promise<Truthy<Result>> {
  const until = performance.now() + waitLimitMs
  for (;;) {
    const result = await condition()
    if (isTruthy(result)) return result
    if (performance.now() > until) throw new Error(`not within ${waitLimitMs} ms: ${condition}`)
    await delay(pauseMs)
  }
}

type Truthy<Value> = Exclude<Value, false | '' | 0 | null | undefined>

const isTruthy = <Value>(value: Value): value is Value & Truthy<Value> => Boolean(value)

/** Resolves with the result of the attempt once it does not throw. */
export async function waitFor<Result>(attempt: () => Result | Promise<Result>): Promise<Result> {
  const until = performance.now() + waitLimitMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > until) throw error
    }
    await delay(pauseMs)
  }
}
