import { Stepper, Text } from '@mantine/core'

export const steps = [
  { label: 'Register the new key', description: 'beside the old one' },
  { label: 'Wait', description: 'until verifiers have loaded it' },
  { label: 'Switch the signer', description: 'to the new key' },
  { label: 'The old key expires', description: 'when its tokens have' },
  { label: 'Delete it', description: 'when it is no longer needed' },
]

export function RotationStepper({ step }: { step: number }) {
  const current = steps[step]
  return (
    <>
      <Stepper active={step} size="sm" mb="xl" visibleFrom="lg">
        {steps.map(({ label }) => (
          <Stepper.Step key={label} label={label} />
        ))}
      </Stepper>
      {current !== undefined && (
        <Text fw={650} size="lg" mb="lg" hiddenFrom="lg">
          Step {step + 1} of {steps.length}: {current.label} {current.description}
        </Text>
      )}
    </>
  )
}
