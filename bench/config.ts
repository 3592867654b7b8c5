/** How much is measured. */
export interface BenchConfig {
  rounds: number
  /** The duration of one measurement in a round. */
  seconds: number
  /** The duration of one measurement at half of the highest rate. */
  halfLoadSeconds: number
  /** Key sets that are not in memory, requested in one round. */
  missesPerRound: number
  /** Keys registered in one round. */
  ecKeys: number
  rsaKeys: number
  /** Keys of one import. */
  importKeys: number
  starts: number
  /** Idle time after which the memory of a server is read. */
  settleSeconds: number
  /** Whether to include servers that log a line for each request. */
  measureLogging: boolean
  revocations: number
  /** Tokens exchanged, and lists read beside. */
  exchanges: number
  exchangeReads: number
  /** Rounds of listing keys while RSA-4096 keys are registered. */
  busyRounds: number
}

export const connections = 32

export const full: BenchConfig = {
  rounds: 10,
  seconds: 2,
  halfLoadSeconds: 2,
  missesPerRound: 5_000,
  ecKeys: 640,
  rsaKeys: 96,
  importKeys: 5_000,
  starts: 5,
  settleSeconds: 5,
  measureLogging: true,
  revocations: 100,
  exchanges: 100_000,
  exchangeReads: 20_000,
  busyRounds: 3,
}

/** Shows that everything works; its figures mean little. */
export const quick: BenchConfig = {
  rounds: 2,
  seconds: 0.3,
  halfLoadSeconds: 0.3,
  missesPerRound: 1_000,
  ecKeys: 320,
  rsaKeys: 24,
  importKeys: 1_000,
  starts: 1,
  settleSeconds: 1,
  measureLogging: false,
  revocations: 5,
  exchanges: 3_000,
  exchangeReads: 2_000,
  busyRounds: 0,
}
