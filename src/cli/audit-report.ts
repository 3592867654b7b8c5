import process from 'node:process'
import { Presets, SingleBar } from 'cli-progress'
import picocolors from 'picocolors'
import type {
  AuditFailure,
  AuditFinding,
  AuditListener,
  AuditStage,
  AuditSummary,
} from '../core/audit/records.ts'

export interface AuditReport {
  listener: AuditListener
  /** Writes the summary, or the whole as JSON; answers whether anything was found. */
  end(summary: AuditSummary): boolean
  /** Takes the progress bar away; it may be called twice. */
  stop(): void
}

const stageNames: Record<AuditStage, string> = {
  reading: 'Reading keys   ',
  comparing: 'Comparing keys ',
  examining: 'Examining keys ',
}

/** Results on stdout as they come (as JSON: at the end), progress on stderr if that is a terminal. */
export function createAuditReport({ json }: { json: boolean }): AuditReport {
  const findings: AuditFinding[] = []
  const failures: AuditFailure[] = []
  const bar = createBar()
  return {
    listener: {
      progress: (stage, done, total) => bar.show(stage, done, total),
      finding(finding) {
        findings.push(finding)
        if (!json) bar.interrupt(() => process.stdout.write(findingLine(finding)))
      },
      failure(failure) {
        failures.push(failure)
        bar.interrupt(() => process.stderr.write(failureLine(failure)))
      },
    },
    end(summary) {
      bar.stop()
      process.stdout.write(
        json
          ? `${JSON.stringify({ ...summary, findings, failures }, null, 2)}\n`
          : summaryText(summary, findings, failures),
      )
      process.stderr.write(hints(summary, findings))
      return findings.length + failures.length > 0
    },
    stop: bar.stop,
  }
}

/** One line of progress; cli-progress shows nothing where stderr is no terminal. */
function createBar() {
  const format = '{stage} {bar} {value}/{total}, {eta_formatted} left'
  const bar = new SingleBar(
    { stream: process.stderr, format, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  )
  let shown: AuditStage | undefined
  return {
    show(stage: AuditStage, done: number, total: number): void {
      if (stage !== shown) {
        bar.stop()
        bar.start(total, done, { stage: stageNames[stage] })
        shown = stage
      } else bar.update(done)
    },
    /** Writes a line where the bar stands; the bar comes back below it. */
    interrupt(write: () => void): void {
      if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K')
      write()
    },
    stop(): void {
      bar.stop()
    },
  }
}

function findingLine({ code, projectName, kid, detail, ...state }: AuditFinding): string {
  const news = state.isNew ? 'new' : 'known'
  const key = state.active ? 'active' : state.deactivated ? 'switched off' : 'inactive'
  return `${picocolors.red(code)}  ${projectName}  ${kid}  ${news}, ${key}: ${detail}\n`
}

function failureLine({ projectName, kid, reason }: AuditFailure): string {
  return `The key ${kid} of the project ${projectName} could not be examined: ${reason}\n`
}

function summaryText(
  { keys, examined, complete }: AuditSummary,
  findings: readonly AuditFinding[],
  failures: readonly AuditFailure[],
): string {
  const scope = `${count(keys, 'key')}, ${examined} examined now`
  const state = complete ? 'audited' : 'audited in part'
  const news = findings.filter(({ isNew }) => isNew).length
  const off = new Set(findings.filter((one) => one.deactivated).map(({ kid }) => kid)).size
  const found =
    findings.length === 0
      ? 'nothing found'
      : `${count(findings.length, 'finding')} (${news} new), ${off} switched off`
  const failed = failures.length === 0 ? '' : `, ${failures.length} could not be examined`
  return `${scope}, ${state}: ${found}${failed}.\n`
}

/** What to do next, where there is something to do. */
function hints({ complete }: AuditSummary, findings: readonly AuditFinding[]): string {
  const active = findings.filter((finding) => finding.active)
  const lines = [
    complete ? '' : 'Interrupted: run it again to go on where it was.\n',
    active.some(({ code }) => code !== 'rsa_modulus_reused')
      ? 'Weak keys are active. Switch them off with --deactivate, or one by one.\n'
      : '',
    active.some(({ code }) => code === 'rsa_modulus_reused')
      ? 'Keys with one modulus are active. Ask their owners which one is to stay: anybody can\nregister the modulus of somebody else, so none of them is switched off by itself.\n'
      : '',
  ]
  return lines.join('')
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
