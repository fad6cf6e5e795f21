"""What the package offers flat it offers by kind as well."""

import pytest

import dalembert as da


def test_all_methods_are_in_one_place():
    assert len(da.methods.ALL) >= 29
    assert set(da.CATALOGUE) < set(da.methods.ALL)
    assert all(isinstance(method, da.Method) for method in da.methods.ALL.values())
    kinds = {type(method).__name__ for method in da.methods.ALL.values()}
    assert kinds <= set(da.methods.__all__)


@pytest.mark.parametrize("name", ["methods", "tableaux", "invariants"])
def test_a_namespace_holds_what_it_says(name):
    room = getattr(da, name)
    assert room.__doc__
    for inside in room.__all__:
        assert getattr(room, inside) is getattr(da, inside, getattr(room, inside))


def test_classes_by_another_name():
    assert da.GaussSpark(2) == da.gauss_spark(2)
    assert da.LobattoSpark(3, "ABD") == da.lobatto_spark(3, "ABD")
    assert isinstance(da.methods.EulerSpark("I"), da.Spark)


@pytest.mark.parametrize(
    ("tableau", "advice"),
    [(da.tableaux.lobatto_iiia(3), "da.EventCapturing"), (da.gauss_spark(2).tableau, "da.Spark")],
)
def test_a_tableau_is_not_taken_for_a_method(tableau, advice):
    system = da.gallery.Pendulum()
    start = system.start()
    with pytest.raises(da.InputError, match=rf"got a tableau, \w+; make a method of it: {advice}\(...\)"):
        da.simulate(system, tableau, start.q0, start.v0, t=(0, 1), h=0.1)


def test_a_run_has_a_status_of_a_public_class():
    system = da.gallery.HarmonicOscillator()
    start = system.start()
    assert isinstance(da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0, 1), h=0.1).status, da.Status)
