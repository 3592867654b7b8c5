import { redact } from '../kernel/exposure/redaction.ts'
export const tokenCheckOutcomes = ['passed', 'failed', 'warned', 'skipped'] as const
export type TokenCheckOutcome = (typeof tokenCheckOutcomes)[number]

/** The result of one step of a token check. */
export interface Finding {
  outcome: TokenCheckOutcome
  /** If it failed: what is wrong and what to do. */
  detail: string
}

const finding =
  (outcome: TokenCheckOutcome) =>
  (detail: string): Finding => ({ outcome, detail })

export const passed = finding('passed')
export const failed = finding('failed')
/** Some verifiers reject the token, others do not. */
export const warned = finding('warned')
/** There is nothing to compare, or nothing to compare it with. */
export const skipped = finding('skipped')

/** Code points of a quotation. */
const maxQuoted = 40

/**
 * Quotes submitted text: shortened, and without characters that could disturb a terminal or change
 * the text direction (Unicode C, line and paragraph separators).
 */
export function quote(text: string, maxLength = maxQuoted): string {
  const points = [...redact(text)]
  const shown = points.slice(0, maxLength).join('')
  const clean = shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
  return `“${clean}${points.length > maxLength ? '…' : ''}”`
}

/** A duration in its largest whole unit, such as `3 days`. */
export function formatDuration(ms: number): string {
  const units: [string, number][] = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1_000],
  ]
  const [name, size] = units.find(([, length]) => ms >= length) ?? ['millisecond', 1]
  const count = Math.floor(ms / size)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

export type Step<Name extends string, Result extends Finding = Finding> = [
  name: Name,
  run: () => Result | Promise<Result>,
]

/** The findings of the steps, in order. */
export interface StepReport<Name extends string, Result extends Finding = Finding> {
  /** The step that failed; no later one was run. */
  failed?: Name
  steps: ({ step: Name } & Result)[]
}

/** Runs the steps in order, up to the first that fails. */
export async function runSteps<Name extends string, Result extends Finding = Finding>(
  steps: readonly Step<Name, Result>[],
): Promise<StepReport<Name, Result>> {
  const results: StepReport<Name, Result>['steps'] = []
  for (const [step, run] of steps) {
    const finding = await run()
    results.push({ step, ...finding })
    if (finding.outcome === 'failed') return { failed: step, steps: results }
  }
  return { steps: results }
}
