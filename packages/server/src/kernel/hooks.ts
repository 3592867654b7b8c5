import { oneFor } from './shared.ts'

/** A point at which a feature lets others take part: the listeners of a program, of which only the identity counts. */
type Hook<Args extends readonly unknown[], Result> = (
  program: object,
) => ((...args: Args) => Result)[]

/** Adds a listener to the program. */
export type Subscription = (program: object) => void

export function hook<Args extends readonly unknown[], Result>(): Hook<Args, Result> {
  return oneFor<object, ((...args: Args) => Result)[]>(() => [])
}

export function on<Args extends readonly unknown[], Result>(
  hook: Hook<Args, Result>,
  run: (...args: Args) => Result,
): Subscription {
  return (program) => void hook(program).push(run)
}

export interface Hooks {
  /** Runs the listeners one after another, in the order of the features. */
  run<Args extends readonly unknown[], Result>(
    hook: Hook<Args, Result>,
    ...args: Args
  ): Promise<Awaited<Result>[]>
}

export function createHooks(subscriptions: readonly Subscription[]): Hooks {
  const program = {}
  for (const subscribe of subscriptions) subscribe(program)
  return {
    async run(hook, ...args) {
      const results = []
      for (const listener of hook(program)) results.push(await listener(...args))
      return results
    },
  }
}
