import { escapeControls } from './output.ts'
import { colorsFor, type Terminal } from './terminal.ts'

/** One line of a check. */
export interface Step {
  step: string
  outcome: 'passed' | 'failed' | 'warned' | 'skipped'
  detail: string
}

/** One line for each step, aligned. */
export function formatSteps(terminal: Terminal, steps: readonly Step[], indent = ''): string {
  const { green, red, yellow, dim } = colorsFor(terminal)
  const outcomes: Record<Step['outcome'], string> = {
    passed: green('ok     '),
    failed: red('FAILED '),
    warned: yellow('warning'),
    skipped: dim('skipped'),
  }
  const line = ({ step, outcome, detail }: Step) =>
    `${indent}${outcomes[outcome]}  ${step.padEnd(11)}  ${escapeControls(detail)}\n`
  return steps.map(line).join('')
}
