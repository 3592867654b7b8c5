import type {
  AuditFailure,
  AuditFinding,
  AuditListener,
  AuditStage,
  AuditSummary,
} from '../../core/audit/records.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'

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
export function createAuditReport(terminal: Terminal, { json }: { json: boolean }): AuditReport {
  const { stdout, stderr } = terminal
  const findings: AuditFinding[] = []
  const failures: AuditFailure[] = []
  const bar = createProgressBar(terminal)
  return {
    listener: {
      progress: (stage, done, total) => bar.show(stageNames[stage], done, total),
      finding(finding) {
        findings.push(finding)
        if (!json) bar.interrupt(() => stdout.write(findingLine(finding, terminal)))
      },
      failure(failure) {
        failures.push(failure)
        if (!json) bar.interrupt(() => stderr.write(failureLine(failure)))
      },
    },
    end(summary) {
      bar.stop()
      stdout.write(
        json
          ? `${JSON.stringify({ ...summary, findings, failures }, null, 2)}\n`
          : summaryText(summary, findings, failures),
      )
      if (!json) stderr.write(hints(summary, findings))
      return findings.length + failures.length > 0
    },
    stop: bar.stop,
  }
}

function findingLine(
  { code, projectName, kid, detail, ...state }: AuditFinding,
  terminal: Terminal,
): string {
  const { red } = colorsFor(terminal.stdout, terminal.env)
  const news = state.isNew ? 'new' : 'known'
  const key = state.active ? 'active' : state.deactivated ? 'switched off' : 'inactive'
  return `${red(code)}  ${projectName}  ${kid}  ${news}, ${key}: ${detail}\n`
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
