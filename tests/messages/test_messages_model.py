"""Models that are not well formed: what the user reads."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize(
    ("lagrangian", "message"),
    [
        (lambda t, q, v: 0.5 * v * v, r"lagrangian\(t, q, v\) must return a scalar .*, got shape \(2,\)"),
        (lambda t, q, v: None, r"lagrangian\(t, q, v\) must return a scalar .*, got NoneType"),
        (lambda t, q, v: 1, r"lagrangian\(t, q, v\) must return a scalar .*, got the plain number 1"),
        (lambda t, q, v: jnp.sum(v) > 0, r"lagrangian\(t, q, v\) must return floats, got bool"),
    ],
)
def test_lagrangian_that_returns_no_scalar(simulate, free, lagrangian, message):
    with pytest.raises(da.ModelError, match=message):
        simulate(free(lagrangian=lagrangian))


@pytest.mark.parametrize(
    ("lagrangian", "reason"),
    [
        (lambda t, q, v: np.sum(np.asarray(v) ** 2), "TracerArrayConversionError"),
        (lambda t, q, v: v @ v if q[0] > 0 else v[0], "TracerBoolConversionError"),
        (lambda q, v: 0.5 * v @ v, "takes 2 positional arguments but 3 were given"),
        (lambda t, q, v: 0.5 * v @ v - q[7], "index 7 out of bounds for axis 0 with size 2"),
        (lambda t, q, v: 0.5 * v @ v - q @ jnp.ones(3), "TypeError"),
    ],
)
def test_lagrangian_that_cannot_be_traced(simulate, free, lagrangian, reason):
    message = (
        rf"system.lagrangian failed when traced with coordinates of shape \(2,\), \(2,\): .*{reason}.*"
        "Use jax.numpy inside it, and check that q0 has the right length"
    )
    with pytest.raises(da.ModelError, match=message):
        simulate(free(lagrangian=lagrangian))


@pytest.mark.parametrize("part", ["lagrangian", "holonomic", "force", "invariants"])
@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda flag: 1.0 if flag > 0 else 2.0, "TracerBoolConversionError"),
        (float, "ConcretizationTypeError"),
        (lambda flag: 2.0 if np.signbit(flag) else 1.0, "TracerArrayConversionError"),
        (lambda flag: jnp.ones(3)[: int(flag)].sum(), "ConcretizationTypeError"),
    ],
)
def test_parameter_that_is_used_as_a_number(simulate, part, use, reason):
    class Flagged(da.System):
        flag: float = 1.0

        def factor(self, name):
            return use(self.flag) if name == part else 1.0

        def lagrangian(self, t, q, v):
            return self.factor("lagrangian") * (0.5 * v @ v)

        def holonomic(self, t, q):
            return self.factor("holonomic") * q[:1]

        def force(self, t, q, v):
            return -self.factor("force") * v

        def invariants(self, t, q, p):
            return {"m": self.factor("invariants") * p[1]}

    message = rf"Flagged.{part} needs the number in a parameter \(flag\).*{reason}.*int, bool or str.*jnp.where"
    with pytest.raises(da.ModelError, match=message):
        simulate(Flagged())


def test_structure_may_be_used_as_a_number(simulate):
    class Structured(da.System):
        flag: int = 1

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v if self.flag > 0 else v @ v

    simulate(Structured())


def test_system_without_lagrangian(simulate):
    with pytest.raises(da.ModelError, match=r"System defines no lagrangian\(t, q, v\)"):
        simulate(da.System())
    with pytest.raises(da.ModelError, match=r"HamiltonianSystem defines no hamiltonian\(t, q, p\)"):
        simulate(da.HamiltonianSystem())


def test_system_from_functions_that_do_not_fit():
    with pytest.raises(da.InputError, match=r"expects exactly one of lagrangian=... and hamiltonian=..."):
        da.system()
    with pytest.raises(da.InputError, match="expects a function for holonomic, got int"):
        da.system(lambda t, q, v: 0.5 * v @ v, holonomic=3)


@pytest.mark.parametrize(
    ("lagrangian", "message"),
    [
        (
            lambda t, q, v: 0.5 * v[0] ** 2 - q[1],
            r"singular; no inertia for q\[1\]\. Give the coordinate a mass",
        ),
        (lambda t, q, v: q @ q, r"singular; no inertia for q\[0\], q\[1\]"),
        (lambda t, q, v: 0.5 * (v[0] + v[1]) ** 2, r"singular; its null direction is -1 q\[0\] \+1 q\[1\]"),
    ],
)
def test_singular_mass_matrix(simulate, free, lagrangian, message):
    with pytest.raises(da.ModelError, match=f"system is not regular: the mass matrix L_vv is {message}"):
        simulate(free(lagrangian=lagrangian))


def test_singular_hamiltonian(simulate):
    system = da.system(hamiltonian=lambda t, q, p: 0.5 * p[0] ** 2 + q[1])
    with pytest.raises(da.ModelError, match=r"not regular: H_pp of the Hamiltonian is singular; no inertia for q\[1\]"):
        simulate(system, v0=None, p0=[0.0, 0.0])
    with pytest.raises(da.ModelError, match=r"not regular at the start: cannot solve H_p\(t, q, p\) = v0 for p"):
        simulate(system, v0=[0.0, 1.0])


def test_forces_that_are_not_finite_at_the_start(simulate, free):
    system = free(lagrangian=lambda t, q, v: 0.5 * v @ v - jnp.sqrt(q[0] - 5.0))
    with pytest.raises(da.ModelError, match="forces or constraints are not finite there"):
        simulate(system)


def test_constraint_that_is_not_finite_at_the_start(simulate, free):
    with pytest.raises(da.ModelError, match=r"holonomic or its derivative is not finite at the start \(t=0\)"):
        simulate(free(holonomic=lambda t, q: jnp.log(q[1])))


@pytest.mark.parametrize(
    ("holonomic", "message"),
    [
        (
            lambda t, q: jnp.outer(q, q),
            r"must return a scalar or an array of shape \(m,\), got shape \(2, 2\)",
        ),
        (lambda t, q: [q[0]], r"must return a scalar or an array of shape \(m,\), got list"),
        (lambda t, q: q[0] > 0, "must return floats, got bool"),
    ],
)
def test_holonomic_that_returns_no_vector(simulate, free, holonomic, message):
    with pytest.raises(da.ModelError, match=r"system.holonomic\(t, q\) " + message):
        simulate(free(holonomic=holonomic))


def test_other_parts_of_the_wrong_shape(simulate, free):
    with pytest.raises(da.ModelError, match=r"force\(t, q, v\) must return an array of shape \(2,\) .* got shape \(\)"):
        simulate(free(force=lambda t, q, v: v[0]))
    with pytest.raises(da.ModelError, match=r"invariants\(t, q, p\) must return a dict of named values, got shape"):
        simulate(free(invariants=lambda t, q, p: p[0]))


def test_more_constraints_than_coordinates(simulate, free):
    message = r"\(3 x 2\) has rank 2 at the start, expected 3: holonomic\[\d\] depends on"
    with pytest.raises(da.RedundantConstraints, match=message):
        simulate(free(holonomic=lambda t, q: jnp.stack([q[0], q[1], q[0] - q[1]])), q0=[0.0, 0.0])


def test_as_many_constraints_as_coordinates(simulate, free):
    message = (
        "system has 2 independent holonomic constraints on 2 coordinates: nothing is left to move. "
        "Check the constraints and the length of q0"
    )
    with pytest.raises(da.ModelError, match=message):
        simulate(free(holonomic=lambda t, q: q), q0=[0.0, 0.0])


def test_one_coordinate_for_a_model_of_two(simulate):
    with pytest.raises(da.ModelError, match=r"index 1 out of bounds .* check that q0 has the right length"):
        simulate(q0=[1.0], v0=[0.0])


def test_dependent_constraints_are_named(simulate, free):
    system = free(holonomic=lambda t, q: jnp.stack([q[0], q[1] + q[2], 2.0 * q[0]]))
    message = (
        r"the constraint Jacobian \(3 x 4\) has rank 2 at the start, expected 3: "
        r"holonomic\[[02]\] depends on holonomic\[[02]\]\. Remove the dependent rows, start from another "
        r'configuration, or pass redundant="allow" \(all of them are kept, with multipliers of minimum norm\)'
    )
    with pytest.raises(da.RedundantConstraints, match=message):
        simulate(system, q0=np.zeros(4), v0=np.zeros(4))


def test_constraint_with_a_zero_gradient(simulate, free):
    with pytest.raises(da.RedundantConstraints, match=r"rank 0 .* holonomic\[0\] has a zero gradient"):
        simulate(free(holonomic=lambda t, q: q[0] ** 2), q0=[0.0, 1.0])


def test_dependent_constraints_run_when_allowed(simulate, pendulum_class):
    class Doubled(pendulum_class):
        def holonomic(self, t, q):
            g = 0.5 * (q @ q - self.length**2)
            return jnp.stack([g, g])

    with pytest.raises(da.RedundantConstraints, match=r"depends on holonomic\[[01]\]"):
        simulate(Doubled(), q0=[1.0, 0.0, 0.0], v0=np.zeros(3))
    doubled = simulate(Doubled(), redundant="allow", q0=[1.0, 0.0, 0.0], v0=np.zeros(3))
    single = simulate(q0=[1.0, 0.0, 0.0], v0=np.zeros(3))
    np.testing.assert_allclose(doubled.q, single.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(doubled.lam[:, 0], doubled.lam[:, 1], atol=1e-10)
    np.testing.assert_allclose(doubled.lam.sum(axis=1), single.lam[:, 0], rtol=1e-9, atol=1e-9)


def test_constraints_that_contradict_each_other(simulate, free):
    system = free(holonomic=lambda t, q: jnp.stack([q[0], q[0] - 1.0]))
    arguments = {"q0": np.zeros(3), "v0": np.zeros(3), "redundant": "allow"}
    with pytest.raises(da.InconsistentStart, match=r"violates holonomic\[1\] at position level"):
        simulate(system, **arguments)
    with pytest.raises(da.InconsistentStart, match="constraints contradict each other"):
        simulate(system, **arguments, project=True)


@pytest.mark.parametrize("method", [da.Rattle(), da.Shake()])
@pytest.mark.parametrize(("part", "function"), [("gap", lambda t, q: q[:1]), ("nonholonomic", lambda t, q, v: v[:1])])
def test_method_that_does_not_fit(simulate, free, method, part, function):
    name = type(method).__name__
    message = f"{name} does not treat {part}, which system defines; it treats force, holonomic"
    with pytest.raises(da.MethodDoesNotFit, match=message):
        simulate(free(**{part: function}), method)


@pytest.mark.parametrize("method", [da.Rattle(), da.Shake()])
def test_no_constraint_is_fine(simulate, free, method):
    run = simulate(free(), method, v0=[1.0, -2.0])
    np.testing.assert_allclose(run.q[-1], [2.0, -2.0], atol=1e-13)
    assert run.lam.shape == (11, 0)
    np.testing.assert_array_equal(run.constraint, np.zeros(11))


@pytest.mark.parametrize(
    ("name", "arguments", "meant"),
    [
        ("constraint", "t, q", "holonomic"),
        ("constraint", "t, q, v", "nonholonomic"),
        ("forces", "t, q, v", "force"),
        ("gaps", "t, q", "gap"),
    ],
)
def test_functions_that_nobody_asks_for_are_not_left_without_effect(name, arguments, meant):
    written = f"def {name}(self, {arguments}):\n        return q"
    text = f"class Fallen(da.System):\n    def lagrangian(self, t, q, v):\n        return v @ v\n    {written}\n"
    with pytest.raises(da.ModelError, match=rf"Fallen\.{name}\(.*did you mean {meant}\("):
        exec(text, {"da": da})
    exec(text.replace(f"def {name}(", f"def _{name}("), {"da": da})  # a helper is left alone
    helped = f"    def {meant}(self, {arguments}):\n        return self.{name}({arguments})\n"
    exec(text + helped, {"da": da})
