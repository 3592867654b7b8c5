import { oneFor } from './shared.ts'

/** The features of one program; only its identity counts. */
interface Program {
  readonly name: string
}

/** A point at which a feature lets others take part. */
interface Hook<Args extends readonly unknown[], Result> {
  readonly name: string
  listeners(program: Program): ((...args: Args) => Result)[]
}

/** Adds a listener to the program. */
export type Subscription = (program: Program) => void

export function hook<Args extends readonly unknown[], Result>(name: string): Hook<Args, Result> {
  return { name, listeners: oneFor<Program, ((...args: Args) => Result)[]>(() => []) }
}

export function on<Args extends readonly unknown[], Result>(
  { listeners }: Hook<Args, Result>,
  run: (...args: Args) => Result,
): Subscription {
  return (program) => void listeners(program).push(run)
}

export interface Hooks {
  /** Runs the listeners one after another, in the order of the features. */
  run<Args extends readonly unknown[], Result>(
    hook: Hook<Args, Result>,
    ...args: Args
  ): Promise<Awaited<Result>[]>
}

export function createHooks(subscriptions: readonly Subscription[]): Hooks {
  const program = { name: 'pubring' }
  for (const subscribe of subscriptions) subscribe(program)
  return {
    async run(hook, ...args) {
      const results = []
      for (const listener of hook.listeners(program)) results.push(await listener(...args))
      return results
    },
  }
}
